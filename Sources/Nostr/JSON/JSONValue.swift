/// A JSON value (RFC 8259) as it was written: numbers keep their text, objects their order.
package enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)
}
