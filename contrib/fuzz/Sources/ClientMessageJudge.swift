import Nostr

/// Messages of clients at our socket, and lines of a feed: accepted filters read the same after they are written again.
enum ClientMessageJudge {
    static func judge(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let line = Array(bytes)
        if let place = (try? EventLine.event(in: line)).flatMap(\.self) {
            promise(
                line.indices.contains(place.lowerBound) && place.upperBound <= line.count,
                "the event is in the line"
            )
        }
        guard let message = try? ClientMessage(bytes) else { return true }
        switch message {
        case .event(let place):
            promise(place.lowerBound >= 0 && place.upperBound <= bytes.count, "the event is in the message")
            var scanner = EventScanner()
            _ = try? scanner.scan(UnsafeRawBufferPointer(rebasing: bytes[place]))
        case .request(let subscription, let filters):
            promise((1...64).contains(subscription.name.unicodeScalars.count), "a subscription's name is bounded")
            promise(!filters.isEmpty, "a request has a filter")
            judge(filters)
        case .close(let subscription):
            promise(SubscriptionID(subscription.name) == subscription, "a subscription's name is one")
        case .authenticate(let event):
            promise(
                promised("AUTH's event can be written") { try Event(json: event.json) } == event,
                "and reads the same"
            )
        }
        return true
    }

    private static func judge(_ filters: [Filter]) {
        for filter in filters {
            var text = Array(#"["REQ","s","#.utf8) + filter.json
            text.append(UInt8(ascii: "]"))
            let again = promised("a filter can be written") { try text.withUnsafeBytes { try ClientMessage($0) } }
            guard case .request(_, let filters) = again else { return promise(false, "a REQ stays one") }
            promise(filters == [filter], "a filter that is written anew reads the same")
        }
    }
}
