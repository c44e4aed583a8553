import HTTPTypes

extension HTTPField.Name {
    static let encryption = name("Encryption")
    static let cryptoKey = name("Crypto-Key")
    static let ttl = name("TTL")
    static let urgency = name("Urgency")
    static let forwardedFor = name("X-Forwarded-For")

    /// These are tokens (RFC 9110 section 5.1), which is all that is asked.
    private static func name(_ text: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(text) else { preconditionFailure("\(text) is no field name") }
        return name
    }
}
