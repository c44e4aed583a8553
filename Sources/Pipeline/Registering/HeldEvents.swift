import Nostr

/// Events in a row that the registry takes in one transaction: registrations, or lists of relays and devices.
struct HeldEvents {
    private(set) var registrations: [Event] = []
    private(set) var lists: [Event] = []

    var isEmpty: Bool { registrations.isEmpty && lists.isEmpty }

    /// Whether an event of that kind goes on with the row. Before any other the row has to be dealt with: what it changes counts
    /// for the very next event.
    func continues(with kind: Kind) -> Bool {
        switch kind {
        case .pushRegistration, .addressablePushRegistration: lists.isEmpty
        case .relayList, .deviceList: registrations.isEmpty
        default: false
        }
    }

    mutating func add(registration: Event) { registrations.append(registration) }

    mutating func add(list: Event) { lists.append(list) }
}
