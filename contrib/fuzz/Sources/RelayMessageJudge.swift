import Nostr

/// Messages from relays: an accepted message reads the same after it is written again.
enum RelayMessageJudge {
    static func judge(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let message = try? ReceivedRelayMessage(bytes) else { return true }
        let reparsed: RelayMessage
        switch message {
        case .event(let subscription, let place):
            promise(place.lowerBound >= 0 && place.upperBound <= bytes.count, "the event is in the message")
            var scanner = EventScanner()
            _ = try? scanner.scan(UnsafeRawBufferPointer(rebasing: bytes[place]))
            reparsed = .event(subscription, json: Array(bytes[place]))
        case .ok(let id, let isAccepted, let text):
            _ = MachineReadablePrefix(of: text)
            reparsed = .ok(id, isAccepted: isAccepted, message: text)
        case .endOfStoredEvents(let subscription): reparsed = .endOfStoredEvents(subscription)
        case .closed(let subscription, let text):
            _ = MachineReadablePrefix(of: text)
            reparsed = .closed(subscription, message: text)
        case .notice(let text): reparsed = .notice(text)
        case .authenticate(let challenge): reparsed = .authenticate(challenge: challenge)
        }
        let again = promised("what was read can be written") {
            try reparsed.json.withUnsafeBytes { try ReceivedRelayMessage($0) }
        }
        if case .event(let subscription, _) = message, case .event(let other, _) = again {
            promise(subscription == other, "the subscription stays the same")
        } else {
            promise(again == message, "what is written anew reads the same")
        }
        return true
    }
}
