import Nostr

/// The conversation with one relay, without its socket: what is watched goes in, what to say comes out (NIP-01, NIP-42).
///
/// It outlives connections, so that a reconnect goes on where the connection before ended. The shell around it
///
/// - calls ``connected(limitation:mark:now:)`` when the WebSocket is open and the information document (NIP-11) was read or
///   given up, and ``disconnected(isClean:isMessageTooLong:now:)`` when it is not open any more. Everything else may be called
///   at any time; only while connected are there ``RelayAction/send(_:)`` actions;
/// - reads each message as ``ReceivedRelayMessage``; asks ``received(_:on:now:)`` about each event, drops it when that returns
///   nil, hands it to the delegate under the arrival's reading otherwise, and when the delegate has completed calls
///   ``settled(_:_:isDealtWith:now:)``, also if the connection is long gone by then. All other messages go to
///   ``receive(_:now:)``;
/// - calls ``tick(now:)`` at ``nextTick``, which may have changed after every call, or later;
/// - carries out the actions of every call in their order.
///
/// All times are milliseconds since 1970 unless seconds are spoken of.
struct RelaySession: Sendable {
    let settings: SessionSettings

    init(settings: SessionSettings) {
        self.settings = settings
    }

    /// Keys watched.
    var keyCount: Int { 0 }
    /// Whether the relay is asked by kinds only, since the keys exceed what it allows.
    var isAskedByKind: Bool { false }
    /// REQs sent since the session began.
    var requestsSent: Int { 0 }
    /// Whether anything waits to be published or fetched: a reason to connect.
    var hasErrands: Bool { false }
    /// When to call ``tick(now:)``; nil: not before something else happens.
    var nextTick: Int64? { nil }

    /// Watches keys and stops watching them.
    mutating func update(_ changes: [WatchChange], now: Int64) -> [RelayAction] { [] }

    /// Watches, or no longer, what is addressed to our own key: registrations and remote signing.
    mutating func watchOwnKey(_ isWatched: Bool, now: Int64) -> [RelayAction] { [] }

    /// Begins a conversation. `mark`, in seconds, is up to when everything was dealt with before, in an earlier process too.
    mutating func connected(limitation: RelayLimitation, mark: Int64?, now: Int64) -> [RelayAction] { [] }

    /// Ends the conversation. `isClean` says that we ended it, with nothing unread; `isMessageTooLong` that the relay did
    /// because a message of ours was too long for it (status 1009).
    mutating func disconnected(isClean: Bool, isMessageTooLong: Bool = false, now: Int64) -> [RelayAction] { [] }

    /// Says how an event is to be read that came on that subscription; nil when it is not to be read at all.
    ///
    /// Looks at the event's bytes only in subscriptions to stored events. Is not followed by actions.
    mutating func received(_ event: UnsafeRawBufferPointer, on subscription: SubscriptionID, now: Int64) -> Arrival? {
        nil
    }

    /// Takes a message that is no event.
    mutating func receive(_ message: ReceivedRelayMessage, now: Int64) -> [RelayAction] { [] }

    /// Takes what became of events that ``received(_:on:now:)`` let through, one result an event. The events are looked at only
    /// where they were not dealt with, to be read again.
    mutating func settled(
        _ arrivals: [Arrival],
        _ events: [[UInt8]],
        isDealtWith: [Bool],
        now: Int64
    ) -> [RelayAction] { [] }

    /// Sends the answer to a challenge and remembers what waits for it.
    mutating func signed(_ authentication: Event, now: Int64) -> [RelayAction] { [] }

    /// Publishes an event, now or when connected. ``RelayAction/publishEnded(_:isAccepted:message:)`` follows at `deadline` at the
    /// latest.
    mutating func publish(_ event: Event, deadline: Int64, now: Int64) -> [RelayAction] { [] }

    /// Asks for stored events, now or when connected. ``RelayAction/fetchEnded(_:)`` with that number follows at `deadline` at the
    /// latest.
    mutating func fetch(_ number: UInt64, _ filters: [Filter], deadline: Int64, now: Int64) -> [RelayAction] { [] }

    /// Does what is due.
    mutating func tick(now: Int64) -> [RelayAction] { [] }
}
