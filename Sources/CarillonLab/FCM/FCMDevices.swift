/// The registration tokens declared, and what becomes of the others.
struct FCMDevices {
    private var devices: [String: FCMDevice.State] = [:]
    private let acceptsUndeclared: Bool

    init(_ devices: [FCMDevice], acceptsUndeclared: Bool) {
        self.acceptsUndeclared = acceptsUndeclared
        declare(contentsOf: devices)
    }

    /// What was said of the same tokens before is forgotten.
    mutating func declare(contentsOf devices: [FCMDevice]) {
        for device in devices {
            self.devices[device.token] = device.state
        }
    }

    func check(_ token: String) throws(FCMRefusal) {
        let isPlausible =
            (32...4096).contains(token.utf8.count)
            && token.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: ":"):
                    true
                default: false
                }
            }
        guard isPlausible else { throw .invalidToken("the token is none by its length or its characters") }
        switch devices[token] ?? (acceptsUndeclared ? .registered : .invalid) {
        case .registered: break
        case .unregistered:
            throw FCMRefusal(.unregistered, "Requested entity was not found.", detail: "the app is not on this device")
        case .otherSender:
            throw FCMRefusal(.senderIDMismatch, "SenderId mismatch", detail: "the token is of another project")
        case .invalid: throw .invalidToken("the token is not one of a device")
        }
    }
}
