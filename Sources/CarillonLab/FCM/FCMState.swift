/// What the lab's FCM and its token endpoint know.
struct FCMState {
    var accounts: [FCMServiceAccount.Key] = []
    var devices = FCMDevices([], acceptsUndeclared: true)
    var accessTokens = AccessTokens()
    /// Known once the server listens.
    var tokenURL = ""

    init() {}

    /// Throws `LabError` where an account's key is none.
    init(_ configuration: LabConfiguration.FCM) throws {
        accounts = try configuration.accounts.map { try $0.key() }
        devices = FCMDevices(configuration.devices, acceptsUndeclared: configuration.acceptsUndeclaredDevices)
    }
}
