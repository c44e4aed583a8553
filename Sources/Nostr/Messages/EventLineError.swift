/// Why a line holds no event. Never quotes the line.
package enum EventLineError: Error, Hashable, Sendable, CustomStringConvertible {
    case malformed(JSONFault)
    case neitherEventNorMessage

    package var description: String {
        switch self {
        case .malformed(let fault): "not JSON: \(fault)"
        case .neitherEventNorMessage:
            #"expected an event, ["EVENT",…] or a message of strfry to its plugin, {"type":"new","event":…}"#
        }
    }
}

extension EventLineError: JSONFailure {
    init(_ fault: JSONFault) {
        self = .malformed(fault)
    }
}
