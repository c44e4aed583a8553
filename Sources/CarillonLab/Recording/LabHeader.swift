/// A header field as it came, its name in lower case.
public struct LabHeader: Sendable, Hashable {
    /// In lower case where the lab received it; in an ordered answer any case will do, and goes out in lower case.
    public var name: String
    /// Of one field line: neither split nor combined with others of the name (RFC 9110, section 5.2).
    public var value: String

    /// Takes both as they are; only headers ordered in JSON or on the command line are checked for line breaks.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}
