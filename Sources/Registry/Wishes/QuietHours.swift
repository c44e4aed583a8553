/// When a device wants to be left alone (seed 004 section 4). An end before the start is on the next day.
package struct QuietHours: Hashable, Sendable {
    package var start: TimeOfDay
    /// The first minute that is quiet no more; never the same as `start`.
    package var end: TimeOfDay
    package var zone: QuietZone
    /// Whether direct messages come through.
    package var letsDirectMessagesThrough: Bool

    package init(start: TimeOfDay, end: TimeOfDay, zone: QuietZone, letsDirectMessagesThrough: Bool = false) {
        self.start = start
        self.end = end
        self.zone = zone
        self.letsDirectMessagesThrough = letsDirectMessagesThrough
    }

    package init(start: TimeOfDay, end: TimeOfDay, offset: UTCOffset, letsDirectMessagesThrough: Bool = false) {
        self.init(start: start, end: end, zone: .offset(offset), letsDirectMessagesThrough: letsDirectMessagesThrough)
    }
}
