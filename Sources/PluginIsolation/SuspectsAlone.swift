/// Finds out which delivery kills its process: what was in hand at a death is tried again one by one.
///
/// A delivery that was alone in hand at two deaths is the culprit and is set aside. Everything else that was in hand is
/// handed out again, and nothing new goes beside it until the last suspect has ended. Pure.
package struct SuspectsAlone<ID: Hashable & Sendable>: Sendable {
    /// What may be handed out now.
    package enum Turn: Sendable, Equatable {
        /// Nothing: a suspect is at work, or none of the suspects is ready.
        case nothing
        /// This suspect, and nothing beside it.
        case alone(ID)
        /// Whatever there is.
        case anything
    }

    /// Deaths alone that prove a delivery guilty. One may be an accident.
    private static var proof: Int { 2 }

    private var lone: ID?
    private var suspects: [ID] = []
    private var deathsAlone: [ID: Int] = [:]

    package init() {}

    /// The deliveries to try, the next one first.
    package var all: [ID] { suspects }

    /// Whether no delivery is under suspicion, so that anything may be handed out.
    package var isQuiet: Bool { lone == nil && suspects.isEmpty }

    /// Whether a suspect is at work.
    package var isTrying: Bool { lone != nil }

    /// The process died with `hand` in hand. Returns the delivery that is to be set aside. `named` is the one that the
    /// crash report names: a hint, for it is tried first.
    package mutating func died(hand: [ID], named: ID? = nil) -> ID? {
        defer { lone = nil }
        guard let lone, hand == [lone] else {
            if let named, hand.contains(named) { suspects.append(named) }
            suspects += hand.filter { $0 != named }
            return nil
        }
        deathsAlone[lone, default: 0] += 1
        guard deathsAlone[lone] == Self.proof else {
            suspects.append(lone)
            return nil
        }
        deathsAlone[lone] = nil
        return lone
    }

    /// What is to be handed out next; a suspect that this returns is at work from now on. `isReady` says whether a
    /// suspect may be tried again yet.
    package mutating func next(isReady: (ID) -> Bool = { _ in true }) -> Turn {
        // Also when it was the last suspect: beside it a death would prove nothing.
        guard lone == nil else { return .nothing }
        guard !suspects.isEmpty else { return .anything }
        guard let index = suspects.firstIndex(where: isReady) else { return .nothing }
        let suspect = suspects.remove(at: index)
        lone = suspect
        return .alone(suspect)
    }

    /// A delivery has ended, whether it was at work or waited.
    package mutating func ended(_ id: ID) {
        if lone == id { lone = nil }
        guard !suspects.isEmpty || !deathsAlone.isEmpty else { return }
        suspects.removeAll { $0 == id }
        deathsAlone[id] = nil
    }
}
