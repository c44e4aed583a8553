extension Lab {
    /// Says what becomes of a registration token; replaces what was said of it before.
    public func declare(_ device: FCMDevice) {
        core.withState { $0.fcm.devices.declare(contentsOf: [device]) }
    }

    /// Every access token is refused from now on, and others can be had.
    public func revokeAccessTokens() {
        core.withState { $0.fcm.accessTokens.revokeAll() }
    }
}
