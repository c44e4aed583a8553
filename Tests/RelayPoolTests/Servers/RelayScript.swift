import Nostr
import Testing

/// What a well-behaved relay answers, for ``ScriptedRelay``.
enum RelayScript {
    /// Answers a REQ with `events` and the end of them, and an EVENT with OK.
    static func answer(_ text: String, events: [Event] = []) -> [String] {
        guard let message = try? ClientMessage(text) else { return [] }
        switch message {
        case .request(let subscription, _):
            return events.map { self.event($0, on: subscription.name) } + ["[\"EOSE\",\"\(subscription.name)\"]"]
        case .event(let range):
            guard let event = try? Event(json: Array(Array(text.utf8)[range])) else { return [] }
            return ["[\"OK\",\"\(event.id.hex)\",true,\"\"]"]
        default:
            return []
        }
    }

    static func event(_ event: Event, on subscription: String) -> String {
        "[\"EVENT\",\"\(subscription)\",\(String(decoding: event.json, as: UTF8.self))]"
    }
}

extension ClientMessage {
    init(_ text: String) throws {
        var text = text
        self = try text.withUTF8 { try ClientMessage(UnsafeRawBufferPointer($0)) }
    }
}

extension ScriptedRelay {
    /// The next REQ: its subscription and filters.
    mutating func nextRequest() async -> (subscription: String, filters: [Filter])? {
        while let received = await next() {
            guard case .text(let text) = received, let message = try? ClientMessage(text),
                case .request(let subscription, let filters) = message
            else { continue }
            return (subscription.name, filters)
        }
        return nil
    }
}
