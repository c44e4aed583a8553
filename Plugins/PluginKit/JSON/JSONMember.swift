/// One member of an object, as it stands in the text.
public struct JSONMember: Sendable {
    /// The name as JSON, with its quotes and escapes.
    public let rawKey: ArraySlice<UInt8>
    /// What stands behind the colon.
    public let value: JSONValue

    /// The name.
    public var key: String { String(decoding: JSONString.unescape(rawKey), as: UTF8.self) }
}
