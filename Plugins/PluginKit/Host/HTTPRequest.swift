internal import CarillonABI
import Core

/// A request for the host to send. Built in two buffers, so that a delivery costs few allocations.
public struct HTTPRequest: ~Copyable {
    private struct Field {
        let name: Range<Int>
        let value: Range<Int>
    }

    /// Which of the host's connections may carry it.
    public struct Options: OptionSet, Sendable {
        /// The bits as the header has them.
        public let rawValue: UInt32

        /// Takes the bits of the header; unknown ones are kept and mean nothing.
        public init(rawValue: UInt32) {
            self.rawValue = rawValue
        }

        /// A busy origin: the host keeps HTTP/2 connections to it.
        public static let multiplex = Options(rawValue: 1 << 0)
        /// The URL came from a user: no private addresses, no redirects.
        public static let untrustedURL = Options(rawValue: 1 << 1)
    }

    private let method: StaticString
    private let options: Options
    private let urlLength: Int
    private var text: [UInt8]
    private var fields: [Field] = []

    /// What is sent; empty for nothing.
    public var body: [UInt8] = []
    /// Until the last byte of the answer; zero: the host's default.
    public var timeout: Duration = .zero
    /// The rest of an answer's body is cut off; 0: the host's default.
    public var maxResponseBytes: UInt32 = 0
    /// Requests with different words here never share a connection, and a new word gets new ones: at most 128 printable
    /// bytes. Empty: connections are shared with everybody.
    public var connection = ""

    /// `url` is absolute; it is sent as it is.
    public init(_ method: StaticString, url: String, options: Options = []) {
        self.init(method, url: url, followedBy: BorrowedText(carillon_str()), options: options)
    }

    /// `url` and `rest` make up an absolute URL; it is sent as it is.
    public init(_ method: StaticString, url: String, followedBy rest: BorrowedText, options: Options = []) {
        self.method = method
        self.options = options
        text = []
        text.reserveCapacity(768)
        text.append(contentsOf: url.utf8)
        text.append(contentsOf: rest.bytes)
        urlLength = text.count
        fields.reserveCapacity(12)
    }

    /// Adds a field. `name` is in lower case; `value` holds no control characters.
    public mutating func addHeader(_ name: StaticString, _ value: String) {
        addHeader(UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount), value)
    }

    /// Adds a field with a name that is known only when the program runs.
    public mutating func addHeader(named name: String, _ value: String) {
        addHeader(name.utf8, value)
    }

    private mutating func addHeader(_ name: some Collection<UInt8>, _ value: String) {
        let start = text.count
        text.append(contentsOf: name)
        let end = text.count
        text.append(contentsOf: value.utf8)
        fields.append(Field(name: start..<end, value: end..<text.count))
    }

    /// Calls `body` with the request as the ABI has it.
    func withABI<Result>(_ body: (UnsafePointer<carillon_http_request>) -> Result) -> Result {
        var connection = connection
        return connection.withUTF8 { connection in
            withABI(onConnection: carillon_str(UnsafeRawBufferPointer(connection)), body)
        }
    }

    private func withABI<Result>(
        onConnection connection: carillon_str,
        _ body: (UnsafePointer<carillon_http_request>) -> Result
    ) -> Result {
        text.withUnsafeBytes { text in
            self.body.withUnsafeBytes { content in
                withUnsafeTemporaryAllocation(of: carillon_field.self, capacity: max(fields.count, 1)) { headers in
                    for (index, field) in fields.enumerated() {
                        headers.initializeElement(
                            at: index,
                            to: carillon_field(
                                name: carillon_str(UnsafeRawBufferPointer(rebasing: text[field.name])),
                                value: carillon_bytes(UnsafeRawBufferPointer(rebasing: text[field.value]))
                            )
                        )
                    }
                    var request = carillon_http_request(
                        struct_size: UInt32(MemoryLayout<carillon_http_request>.size),
                        flags: options.rawValue,
                        method: carillon_str(method),
                        url: carillon_str(UnsafeRawBufferPointer(rebasing: text[..<urlLength])),
                        headers: headers.baseAddress,
                        header_count: fields.count,
                        body: carillon_bytes(content),
                        timeout_ms: UInt32(clamping: timeout.milliseconds),
                        max_response_bytes: maxResponseBytes,
                        connection: connection
                    )
                    return body(&request)
                }
            }
        }
    }
}

/// Any text as the value of a header field (RFC 2047).
public enum EncodedWords {
    /// Bytes in one encoded word, which may have 75 characters, three for each byte.
    private static let wordLimit = 20

    /// Printable ASCII as it is; anything else in encoded words, with control characters as blanks.
    public static func encode(_ text: String) -> String {
        let clean = String(
            text.map { $0.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F } ? $0 : " " }
        )
        guard !clean.utf8.allSatisfy({ $0 < 0x80 }) else { return clean }
        var words: [String] = [""]
        for scalar in clean.unicodeScalars {
            if words[words.count - 1].utf8.count + UTF8.width(scalar) > wordLimit { words.append("") }
            words[words.count - 1].unicodeScalars.append(scalar)
        }
        return words.map { "=?UTF-8?Q?\(quoted($0))?=" }.joined(separator: " ")
    }

    /// The encoding `Q` of RFC 2047, which is percent encoding with another sign.
    private static func quoted(_ text: String) -> String {
        PercentEncoding.encode(text).reduce(into: "") { $0 += $1 == "%" ? "=" : $1 == "_" ? "=5F" : String($1) }
    }
}
