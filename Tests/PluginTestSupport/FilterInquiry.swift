package import CarillonABI
import Core
package import PluginKit
import TimeTestSupport

/// A call of a filter, with the values of a test.
package struct FilterInquiry {
    package var event: TestEvent
    /// 64 hex digits.
    package var recipient = String(repeating: "a", count: 64)
    package var lists: [TestEvent] = []
    package var signal = "mention"
    /// Nil: the event's.
    package var author: String?
    package var zapMillisats: UInt64 = 0
    package var now: Timestamp = ManualClock.start
    package var distance = carillon_follow_distance.CARILLON_DISTANCE_UNKNOWN

    package init(_ event: TestEvent) {
        self.event = event
    }

    package func with(_ change: (inout FilterInquiry) -> Void) -> FilterInquiry {
        var inquiry = self
        change(&inquiry)
        return inquiry
    }

    /// Returns the filter's decision, through the ABI.
    package func decision(of filter: some PluginFilter) throws -> FilterDecision {
        let arena = ABIArena()
        return try withExtendedLifetime(arena) {
            var call = carillon_filter_call()
            call.struct_size = UInt32(MemoryLayout<carillon_filter_call>.size)
            call.event = arena.text(event.json)
            call.recipient = arena.text(recipient)
            call.recipient_events = arena.array(lists.map { arena.text($0.json) })
            call.recipient_event_count = lists.count
            call.signal = arena.text(signal)
            call.author = arena.text(author ?? event.pubkey)
            call.zap_millisats = zapMillisats
            call.now_unix_ms = UInt64(now.milliseconds)
            call.follow_distance = distance
            return try withUnsafePointer(to: call) { try filter.decide(FilterCall($0)) }
        }
    }
}
