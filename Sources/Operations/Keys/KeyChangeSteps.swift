import Nostr

/// What a change of the router's key aims at.
package enum KeyChangeGoal: Sendable {
    /// A new key beside the old one.
    case rotate
    /// The old key again, with the new one beside it as long as devices are registered to it.
    case undo
}

/// One step of a change of the router's key. After each of them a router starts, and the change can go on or be undone.
package enum KeyChangeStep: Hashable, Sendable {
    /// Writes the next key to a file beside the key file.
    case writeNextFile
    case removeNextFile
    /// Prepares the registry, so that the key in either file opens it.
    case prepare
    /// Forgets what was prepared.
    case discard
    /// The file with the next key takes the place of the key file.
    case replaceFile
    /// The registry belongs to the next key alone.
    case commit
    /// Seals everything in the registry anew.
    case reseal
    /// Gives up a withdrawn key that no device is registered to.
    case dropWithdrawn
}

/// How far a change of the router's key has come, as files and registry show it. Whatever stopped a change, the next
/// step follows from this alone.
struct KeyChangeProgress: Hashable {
    /// The key in the key file.
    var keyFile: PublicKey
    /// The key in the file beside it; nil: there is none.
    var nextFile: PublicKey?
    /// The key that the registry is prepared for; nil: none.
    var next: PublicKey?
    /// The key that is answered to beside the router's own; nil: none.
    var former: PublicKey?
    /// Whether ``former`` is a new key that was undone.
    var isWithdrawn = false
    /// Whether any device is registered to ``former``.
    var formerHasDevices = false
    /// Whether everything is sealed under the newest root.
    var isResealed = true

    /// Nil: nothing is left to do.
    func step(to goal: KeyChangeGoal) -> KeyChangeStep? {
        // The point of no return is behind it, whatever is wanted.
        if let next, next == keyFile { return .commit }
        if let next {
            return next == nextFile && leads(next, to: goal) ? .replaceFile : .discard
        }
        if let nextFile {
            return nextFile != keyFile && leads(nextFile, to: goal) ? .prepare : .removeNextFile
        }
        switch goal {
        case .rotate:
            if former == nil { return .writeNextFile }
            return isResealed ? nil : .reseal
        case .undo:
            guard former != nil else { return nil }
            if !isWithdrawn { return .writeNextFile }
            return formerHasDevices ? nil : isResealed ? .dropWithdrawn : .reseal
        }
    }

    /// Whether `key` in the place of the present one is what is wanted: an undo brings the former key back, and nothing
    /// else does.
    private func leads(_ key: PublicKey, to goal: KeyChangeGoal) -> Bool {
        switch goal {
        case .rotate: former == nil
        case .undo: key == former && !isWithdrawn
        }
    }
}
