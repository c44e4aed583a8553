/// The fields of one block of an answer while they are decoded, and whether they are what HTTP/2 allows (RFC 9113, sections
/// 8.2 and 8.3). Judged only at its end: the decoder must see every block to its end, whatever it holds.
struct AnswerBlock {
    private(set) var status = 0
    private(set) var fields = HTTPFields()
    private(set) var contentLength: Int?
    let areTrailers: Bool
    private var isMalformed = false
    private var listSize = 0
    private var hasRegularFields = false

    init(areTrailers: Bool) {
        self.areTrailers = areTrailers
    }

    mutating func append(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) {
        listSize += name.count + value.count + 32
        guard listSize <= HTTP2Session.headerLimit, !isMalformed else { return }
        if name.first == UInt8(ascii: ":") { return appendPseudo(name: name, value: value) }
        hasRegularFields = true
        if Self.isConnectionSpecific(name) || Self.isBlank(value.first) || Self.isBlank(value.last) {
            isMalformed = true
        } else if name.count == Self.contentLengthName.utf8CodeUnitCount, name.equals(Self.contentLengthName) {
            appendLength(value)
        }
        // Trailers are looked through and left out: who asks for an answer's headers has not asked for them.
        fields.append(name: name, value: value)
    }

    /// What is wrong with the whole block, if anything.
    func check() throws(HTTP2Violation) {
        guard !isMalformed, fields.isWellFormed, areTrailers || status > 0 else { throw .stream(.protocolError) }
        guard listSize <= HTTP2Session.headerLimit else { throw .stream(.enhanceYourCalm) }
    }

    private mutating func appendPseudo(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) {
        guard !areTrailers, !hasRegularFields, status == 0, name.equals(":status"), value.count == 3,
            let number = Self.number(value), number >= 100
        else {
            isMalformed = true
            return
        }
        status = number
    }

    private mutating func appendLength(_ value: UnsafeBufferPointer<UInt8>) {
        guard contentLength == nil, (1...15).contains(value.count), let number = Self.number(value) else {
            isMalformed = true
            return
        }
        contentLength = number
    }

    private static let contentLengthName: StaticString = "content-length"

    private static func number(_ digits: UnsafeBufferPointer<UInt8>) -> Int? {
        var number = 0
        for digit in digits {
            guard digit &- 0x30 < 10 else { return nil }
            number = 10 * number + Int(digit &- 0x30)
        }
        return number
    }

    private static func isBlank(_ byte: UInt8?) -> Bool { byte == 0x20 || byte == 0x09 }

    /// RFC 9113, section 8.2.2.
    private static func isConnectionSpecific(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        switch name.count {
        case 7: name.equals("upgrade")
        case 10: name.equals("connection") || name.equals("keep-alive")
        case 16: name.equals("proxy-connection")
        case 17: name.equals("transfer-encoding")
        default: false
        }
    }
}
