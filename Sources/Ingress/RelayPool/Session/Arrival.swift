/// How an event came in, for the shell to hand over and to give back when it is settled.
struct Arrival: Hashable, Sendable {
    let reading: Reading
    /// The catch-up it belongs to; nil for other events.
    let sweep: UInt32?
    /// The epoch of ``MarkProgress`` it is counted in.
    let epoch: UInt32

    init(reading: Reading, sweep: UInt32?, epoch: UInt32 = 0) {
        self.reading = reading
        self.sweep = sweep
        self.epoch = epoch
    }
}
