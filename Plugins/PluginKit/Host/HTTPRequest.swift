internal import CarillonABI
import Core

/// An HTTP request for the host to send, built in two buffers so that a delivery needs few allocations.
///
/// ```swift
/// var request = HTTPRequest("POST", url: "https://push.example.com/send", options: .multiplex)
/// request.addHeader("content-type", "application/json")
/// request.body = Array(#"{"count":1}"#.utf8)
/// ```
public struct HTTPRequest: ~Copyable {
    private struct Field {
        let name: Range<Int>
        let value: Range<Int>
    }

    /// How the host treats the URL and its connection.
    public struct Options: OptionSet, Sendable {
        /// The flags of the ABI.
        public let rawValue: UInt32

        /// Takes the flags of the ABI; unknown ones are kept and have no effect.
        public init(rawValue: UInt32) {
            self.rawValue = rawValue
        }

        /// A busy origin: the host keeps HTTP/2 connections to it.
        public static let multiplex = Options(rawValue: 1 << 0)
        /// The URL came from a user: the host refuses private addresses.
        public static let untrustedURL = Options(rawValue: 1 << 1)
    }

    private let method: StaticString
    private let options: Options
    private let urlLength: Int
    private var text: [UInt8]
    private var fields: [Field] = []

    /// The request body. Default: empty.
    public var body: [UInt8] = []
    /// The time until the last byte of the response, up to 60 s. Default (zero): 30 s.
    public var timeout: Duration = .zero
    /// The size at which the host truncates a response body, in bytes, up to 1 MiB. Default (0): 64 KiB.
    public var maxResponseBytes: UInt32 = 0
    /// The connection group, up to 128 printable bytes. Requests of different groups never share a connection, and a
    /// new group opens new ones. Empty: connections are shared with all instances.
    public var connection = ""

    /// Makes a request to `url`, an absolute URL that is sent unchanged.
    public init(_ method: StaticString, url: String, options: Options = []) {
        self.init(method, url: url, followedBy: BorrowedText(carillon_str()), options: options)
    }

    /// Makes a request to the absolute URL of `url` followed by `rest`, which is sent unchanged.
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

    /// Adds a header. `name` is in lower case; `value` must not contain control characters.
    public mutating func addHeader(_ name: StaticString, _ value: String) {
        addHeader(UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount), value)
    }

    /// Adds a header whose name is known only at run time.
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

    /// Calls `body` with the request as an ABI struct.
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

/// Encodes any text as a header value (RFC 2047): `Zoë` becomes `=?UTF-8?Q?Zo=C3=AB?=`.
public enum EncodedWords {
    /// Bytes in one encoded word, which may have 75 characters, three for each byte.
    private static let wordLimit = 20

    /// Returns printable ASCII unchanged and other text as encoded words, with control characters replaced by spaces.
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

    /// Encodes text as `Q` of RFC 2047, which is percent encoding with another escape character.
    private static func quoted(_ text: String) -> String {
        PercentEncoding.encode(text).reduce(into: "") { $0 += $1 == "%" ? "=" : $1 == "_" ? "=5F" : String($1) }
    }
}
