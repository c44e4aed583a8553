import Nostr

/// Events in a row that the registry takes in one transaction: registrations, or lists of relays and devices, or accounts'
/// own lists.
struct HeldEvents {
    private(set) var registrations: [Event] = []
    private(set) var lists: [Event] = []
    /// Accounts' own lists that name nobody here.
    private(set) var recipientLists: [Event] = []
    /// Those that do, and are on their way to them.
    private(set) var notices: [Event] = []

    var isEmpty: Bool { registrations.isEmpty && lists.isEmpty && hasNoRecipientLists }

    var hasNoRecipientLists: Bool { recipientLists.isEmpty && notices.isEmpty }

    /// Whether an event of that kind goes on with the row. Before any other the row has to be dealt with: what it changes counts
    /// for the very next event.
    func continues(with kind: Kind, isRecipientList: Bool) -> Bool {
        switch kind {
        case .pushRegistration, .addressablePushRegistration: lists.isEmpty && hasNoRecipientLists
        case .relayList, .deviceList: registrations.isEmpty && hasNoRecipientLists
        case _ where isRecipientList: registrations.isEmpty && lists.isEmpty
        default: false
        }
    }

    mutating func add(registration: Event) { registrations.append(registration) }

    mutating func add(list: Event) { lists.append(list) }

    mutating func add(recipientList: Event) { recipientLists.append(recipientList) }

    mutating func add(notice: Event) { notices.append(notice) }
}
