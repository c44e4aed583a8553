import Nostr
import Units

/// What the shell around a ``RelaySession`` must do, in the order given.
enum RelayAction: Hashable, Sendable {
    /// Send this.
    case send(ClientCommand)
    /// Sign an answer to this challenge (NIP-42) and hand it to ``RelaySession/signed(_:now:)``, which sends it.
    case authenticate(challenge: String)
    /// Tell the delegate: all that was stored for these keys was read and dealt with.
    case established([PublicKey])
    /// Tell the delegate: all that the relay had up to that moment, in seconds since 1970, was read and dealt with.
    case marked(Int64)
    /// Tell the delegate: stored events could not be read, so many times (``RelayPoolDelegate/couldNotRead(_:at:)``).
    case unread(Int)
    /// Tell the operator: the relay has so many registrations for other routers that it finds named devices only by a
    /// `p` tag.
    case tooManyRegistrations
    /// The relay says that it has nothing more for the fetch of that number, whose end follows.
    case fetchAnswered(UInt64)
    /// The fetch of that number has ended: no further event of it will come.
    case fetchEnded(UInt64)
    /// The result of a publication. `message` is the relay's and not to be trusted; it is nil if the relay gave no
    /// answer in time.
    case publishEnded(EventID, isAccepted: Bool, message: String?)
    /// The relay refuses everything: disconnect, and stay away until that moment.
    case rest(until: Timestamp)
}

/// How an event came in. The shell keeps it until the event is settled.
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
