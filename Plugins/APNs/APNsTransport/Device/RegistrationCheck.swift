import PluginKit

/// Whether a registration can be one of an Apple device, or of a broadcast channel.
struct RegistrationCheck {
    /// What registrations of channels have to know; nil: there may be none.
    let broadcastKey: BroadcastKey?

    /// Throws what is wrong and what was expected.
    func check(_ registration: borrowing Registration) throws(PluginError) {
        if ChannelID.isNamed(by: registration.token) {
            try checkChannel(registration)
        } else {
            try checkDevice(registration)
        }
        if let environment = registration.field("environment"), !environment.isEmpty,
            !Origins.isEnvironment(environment)
        {
            throw PluginError("environment: expected production or sandbox")
        }
    }

    private func checkChannel(_ registration: borrowing Registration) throws(PluginError) {
        guard let broadcastKey else {
            throw PluginError("token: expected an APNs device token, since this router sends no broadcasts")
        }
        guard ChannelID(token: registration.token) != nil else {
            throw PluginError("token: expected \(ChannelID.description)")
        }
        guard broadcastKey.isSame(as: registration.field("broadcast_key")) else {
            throw PluginError("broadcast_key: expected the key of the router's operator")
        }
    }

    private func checkDevice(_ registration: borrowing Registration) throws(PluginError) {
        guard DeviceToken.isValid(registration.token) else {
            throw PluginError("token: expected an APNs device token, \(DeviceToken.description)")
        }
        for name in DeviceTokens.fields {
            if let token = registration.field(name), !token.isEmpty, !DeviceToken.isValid(token) {
                throw PluginError("\(name): expected \(DeviceToken.description), or an empty text")
            }
        }
        guard DeviceTokens.token(for: .mdm, registration) != nil else { return }
        let lengths = DeviceTokens.pushMagicLengths
        guard let magic = registration.field(DeviceTokens.pushMagic), lengths.contains(magic.count) else {
            throw PluginError(
                "\(DeviceTokens.pushMagic): expected the device's push magic beside mdm_token, "
                    + "\(lengths.lowerBound) to \(lengths.upperBound) bytes"
            )
        }
    }
}
