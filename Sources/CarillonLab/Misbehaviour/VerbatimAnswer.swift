/// An answer that a misbehaviour gives as it stands.
public struct VerbatimAnswer: Sendable, Hashable {
    public var status: Int
    /// By name in lower case.
    public var headers: [String: String]
    public var body: String

    public init(status: Int, headers: [String: String] = [:], body: String = "") {
        self.status = status
        self.headers = headers
        self.body = body
    }

    var fields: [LabHeader] {
        headers.sorted { $0.key < $1.key }.map { LabHeader($0.key.lowercased(), $0.value) }
    }
}
