import Nostr
import Notifications

/// A filter as the operator configured it.
package struct EventFilter: Sendable {
    /// What becomes of an event that it cannot decide about.
    package enum OnError: String, Sendable, CaseIterable {
        case pass
        case drop
    }

    package var name: String
    package var availability: FilterAvailability
    package var onError: OnError
    /// The recipient's own lists that it reads: replaceable events.
    package var wantedKinds: [Kind]
    /// What it has to know about the recipient's follows.
    package var need: FollowNeed
    /// Whether it is asked with the notification, once that is made.
    package var isAskedAfterRendering: Bool
    /// Answers questions in their order, one verdict to each. Called on the pipeline's thread, which waits.
    package var decide: @Sendable ([FilterQuestion]) -> [FilterVerdict]

    package init(
        name: String,
        availability: FilterAvailability = .maySwitchOff,
        onError: OnError = .pass,
        wantedKinds: [Kind] = [],
        need: FollowNeed = .nothing,
        isAskedAfterRendering: Bool = false,
        decideTogether decide: @escaping @Sendable ([FilterQuestion]) -> [FilterVerdict]
    ) {
        self.name = name
        self.availability = availability
        self.onError = onError
        self.wantedKinds = wantedKinds
        self.need = need
        self.isAskedAfterRendering = isAskedAfterRendering
        self.decide = decide
    }

    /// A filter that answers one question after the other.
    package init(
        name: String,
        availability: FilterAvailability = .maySwitchOff,
        onError: OnError = .pass,
        wantedKinds: [Kind] = [],
        need: FollowNeed = .nothing,
        isAskedAfterRendering: Bool = false,
        decide: @escaping @Sendable (FilterQuestion) -> FilterVerdict
    ) {
        self.init(
            name: name,
            availability: availability,
            onError: onError,
            wantedKinds: wantedKinds,
            need: need,
            isAskedAfterRendering: isAskedAfterRendering,
            decideTogether: { questions in questions.map(decide) }
        )
    }
}

/// Whether devices may switch a filter on or off.
package enum FilterAvailability: String, Sendable, CaseIterable {
    /// Nothing: it is asked for all of them.
    case always
    /// It is asked unless a device switches it off.
    case maySwitchOff = "may-switch-off"
    /// It is asked for devices that switch it on.
    case maySwitchOn = "may-switch-on"

    /// Whether it is asked for a device with that choice; nil: none.
    package func isActive(_ choice: Bool?) -> Bool {
        switch self {
        case .always: true
        case .maySwitchOff: choice ?? true
        case .maySwitchOn: choice ?? false
        }
    }
}
