/// Filters events where they are read, before they are passed on: most events of a busy source concern no account.
///
/// Use one for each thread that reads, or for each source on it.
package protocol EventPrefilter: AnyObject {
    /// Checks the bytes of one event.
    func finding(of json: UnsafeRawBufferPointer) -> PrefilterResult

    /// Reports the number of filtered events since the last call. Call it after each read.
    func report()
}

/// The result of checking an event's bytes.
package enum PrefilterResult: Sendable, Hashable {
    /// The event concerns no account and need not be passed on.
    case irrelevant
    /// The event may concern an account; the next stage decides.
    case mayConcernSomebody
    /// The event may register an account, which changes the recipients of later events.
    case mayRegister
}

/// Filters one source's events and keeps their order: after an event that may register an account, no event is filtered
/// out until that one is settled.
package struct OrderedPrefilter {
    private let prefilter: (any EventPrefilter)?
    /// The number of unsettled events that may register an account.
    private var registering = 0

    /// Without a `prefilter` all events are passed on.
    package init(_ prefilter: (any EventPrefilter)? = nil) {
        self.prefilter = prefilter
    }

    /// Checks an event. The caller must pass it on unless it concerns no account.
    package mutating func finding(of json: UnsafeRawBufferPointer) -> PrefilterResult {
        // A local variable would retain and release the object for each event.
        switch prefilter?.finding(of: json) {
        case .irrelevant: return registering == 0 ? .irrelevant : .mayConcernSomebody
        case .mayConcernSomebody, nil: return .mayConcernSomebody
        case .mayRegister:
            registering += 1
            return .mayRegister
        }
    }

    /// Notes that `count` events that may register an account were settled.
    package mutating func settled(registering count: Int) { registering -= count }

    /// Reports the number of filtered events since the last call.
    package func report() { prefilter?.report() }
}
