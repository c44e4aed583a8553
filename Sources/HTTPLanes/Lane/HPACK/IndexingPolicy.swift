/// Whether a field's value goes into the table of its connection, by the field's name. Apple's rules for APNs come out of
/// it, with the newer of its two on `authorization`.
enum IndexingPolicy {
    /// Has no place in HTTP/2 (RFC 9113, section 8.2.2), or is said by a pseudo-header.
    case omitted
    /// Belongs to one device: it never enters a table, here or with anyone who passes it on (RFC 7541, section 7.1.3).
    case secret
    /// Many requests share it, but it is worth guessing: only what is long and comes twice running enters the table.
    case credential
    /// Differs from request to request: its name enters the table.
    case unrepeated
    /// Enters the table as long as that turns out to be of use.
    case repeated

    init(name: UnsafeBufferPointer<UInt8>) {
        self =
            switch String(decoding: name, as: UTF8.self) {
            case "connection", "host", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade": .omitted
            case ":path", "cookie", "x-gotify-key": .secret
            case "authorization", "proxy-authorization": .credential
            case "apns-id", "apns-expiration", "apns-collapse-id", "apns-request-id", "content-length", "crypto-key",
                "encryption", "topic":
                .unrepeated
            default: .repeated
            }
    }
}
