/// Looks at events where they are read, before they are handed over: most of a busy source's concern nobody.
///
/// One for each thread that reads, or for each source on it.
package protocol EventScreening: AnyObject {
    /// Looks at the bytes of one event.
    func finding(of json: UnsafeRawBufferPointer) -> ScreeningFinding

    /// Counts the events that were found to concern nobody since the last time. To be called after each read.
    func report()
}

/// What a look at an event's bytes says about it.
package enum ScreeningFinding: Sendable, Hashable {
    /// It is done with: no need to hand it over.
    case concernsNobody
    /// Whoever it is handed to will see.
    case mayConcernSomebody
    /// It may also change whom the events after it concern.
    case mayRegister
}

/// Screens one source's events and keeps their order: behind an event that may register somebody, nothing is passed
/// over until that one is dealt with.
package struct OrderedScreening {
    private let screening: (any EventScreening)?
    /// Events handed over that may register somebody, and are not dealt with.
    private var registering = 0

    /// Without a `screening` everything is handed over.
    package init(_ screening: (any EventScreening)? = nil) {
        self.screening = screening
    }

    /// Looks at an event that is handed over unless it concerns nobody.
    package mutating func finding(of json: UnsafeRawBufferPointer) -> ScreeningFinding {
        // Not bound to a name, which would count a reference for each event.
        switch screening?.finding(of: json) {
        case .concernsNobody: return registering == 0 ? .concernsNobody : .mayConcernSomebody
        case .mayConcernSomebody, nil: return .mayConcernSomebody
        case .mayRegister:
            registering += 1
            return .mayRegister
        }
    }

    /// So many of the events that may register somebody are dealt with.
    package mutating func settled(registering count: Int) { registering -= count }

    /// Counts what was passed over since the last time.
    package func report() { screening?.report() }
}
