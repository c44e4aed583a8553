import JSON

@testable import Nostr

/// Events: the builder accepts all events of the scanner, they are JSON, and all ways to compute an id agree.
enum EventJudge {
    static func judge(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var scanner = EventScanner()
        let scanned: ScannedEvent?
        var hasHalfPair = false
        do throws(EventError) {
            scanned = try scanner.scan(bytes)
        } catch {
            scanned = nil
            if case .malformed(let fault) = error { hasHalfPair = fault.expectation == .surrogatePair }
        }
        let pValues = scanner.pValues
        promise((try? scanner.kind(of: bytes)) == scanned?.kind, "a look at the kind says the same as the scan")
        promise(scanned == nil || scanner.pValues == pValues, "a look gathers the same keys as the scan")
        let built = try? Event(json: Array(bytes))
        promise((scanned == nil) == (built == nil), "scanner and builder agree whether it is an event")
        let other = tree(bytes, isEvent: scanned != nil)
        guard let scanned, let built else {
            // A tree has U+FFFD for half a pair; an event with one is rejected, because programs hash it differently.
            let isEvent = !hasHalfPair && other.flatMap(IndependentEvent.init) != nil
            promise(!isEvent, "what is an event by its JSON is taken")
            return true
        }
        let event = promised("what was scanned can be built") { try Event(scanned: scanned, in: bytes) }
        promise(event == built, "building twice gives the same")
        if let other {
            let independent = IndependentEvent(other)
            promise(independent?.content == event.content, "the content is what the JSON says")
            promise(independent?.tags == event.tags, "the tags are what the JSON says")
            promise(independent?.createdAt == event.createdAt, "the stamp is what the JSON says")
        }
        judgeIDs(scanned, event, bytes)
        judgeMeaning(event)
        return true
    }

    /// Parses the bytes as JSON. Accepted events are JSON, except for the parts that the scanner skips: duplicate names
    /// of unknown fields, and their depth of nesting.
    private static func tree(_ bytes: UnsafeRawBufferPointer, isEvent: Bool) -> JSONValue? {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            promise(!isEvent, "what is taken is UTF-8")
            return nil
        }
        do throws(JSONSyntaxError) {
            return try JSONValue(parsing: text)
        } catch {
            let isPassedOver = error.expectation == .distinctNames || error.expectation == .noDeeperNesting
            promise(!isEvent || isPassedOver, "what is taken is JSON")
            return nil
        }
    }

    private static func judgeIDs(_ scanned: ScannedEvent, _ event: Event, _ bytes: UnsafeRawBufferPointer) {
        let again = promised("what we write can be read") { try Event(json: event.json) }
        promise(again == event, "what we write reads the same")
        promise(again.computedID == event.computedID, "what we write has the same id")
        var right = event
        right.id = event.computedID
        let decision = EventVerifier().verify(right)
        promise(decision != .wrongID, "the id we compute is right")
        let isRight = EventVerifier().hasRightID(scanned, in: bytes)
        promise(isRight == (EventVerifier().verify(event) != .wrongID), "scan and event say the same of the id")
        promise(!(event.id == event.computedID) || isRight, "who bears the computed id has a right one")
    }

    /// Code that reads events after the gate must not stop the router either.
    private static func judgeMeaning(_ event: Event) {
        let relations = EventRelations(event)
        for key in event.mentionedKeys.prefix(4) { _ = relations.relation(to: key) }
        _ = (event.thread, event.comment, event.reactionTarget, event.quotes, event.reposted, event.repostedID)
        _ = (event.address, event.isExpired(at: 1_700_000_000), event.kind.retention)
        _ = (DeviceList(event), RelayList(event), try? ZapReceipt(event))
    }
}
