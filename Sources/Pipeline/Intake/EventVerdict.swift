import Nostr

/// What became of a submitted event, as its sender is told.
package struct EventVerdict: Sendable, Hashable {
    package enum Result: Sendable, Hashable {
        /// Whatever it wakes is kept on disk.
        case accepted
        /// It was accepted before.
        case duplicate
        /// A newer one that replaces it was accepted before.
        case outdated
        /// A machine-readable prefix of NIP-01, a colon and a sentence.
        case refused(String)

        /// Whether there is no use in bringing the event again: false when nothing was wrong with it but it could not be
        /// kept or taken at that moment.
        package var isFinal: Bool {
            guard case .refused(let message) = self else { return true }
            return MachineReadablePrefix(of: message) != .error
        }
    }

    /// Nil when the event could not be read that far.
    package var id: EventID?
    package var result: Result

    package init(id: EventID?, _ result: Result) {
        self.id = id
        self.result = result
    }
}

extension EventVerdict.Result {
    /// What another copy of the event is told.
    var ofCopy: Self { self == .accepted ? .duplicate : self }
}
