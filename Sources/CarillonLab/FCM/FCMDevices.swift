/// The registration tokens declared, and what becomes of the others.
struct FCMDevices {
    private var devices: [String: FCMDevice] = [:]
    private let acceptsUndeclared: Bool

    init(_ devices: [FCMDevice], acceptsUndeclared: Bool) {
        self.acceptsUndeclared = acceptsUndeclared
        declare(contentsOf: devices)
    }

    /// What was said of the same tokens before is forgotten.
    mutating func declare(contentsOf devices: [FCMDevice]) {
        for device in devices {
            self.devices[device.token] = device
        }
    }

    func check(_ token: String, of project: String) throws(FCMRefusal) {
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
        let device = devices[token]
        switch device?.state ?? (acceptsUndeclared ? .registered : .invalid) {
        case .registered:
            guard device?.project.map({ $0 == project }) ?? true else { throw Self.otherSender }
        case .unregistered: throw FCMRefusal(FCMErrorCode.unregistered, detail: "the app is not on this device")
        case .otherSender: throw Self.otherSender
        case .invalid: throw .invalidToken("the token is not one of a device")
        }
    }

    private static let otherSender = FCMRefusal(
        FCMErrorCode.senderIDMismatch,
        detail: "the token is of another project"
    )
}
