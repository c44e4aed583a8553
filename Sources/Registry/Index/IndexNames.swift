import Push

/// Bit numbers for signals: the well-known ones first, then those that the operator's rules raise.
///
/// Registrations may name any signal, so they get no bits: a few registrations could use up all of them. A signal that
/// no rule raises sends no notification and needs no bit.
package struct SignalNames: Hashable, Sendable {
    /// The maximum number of signals in addition to the well-known ones.
    package static let furtherLimit = 64 - Signal.wellKnown.count

    /// The signals by bit number.
    private let names: [Signal]
    private let positions: [Signal: Int]
    /// Up to this count, names are compared one by one, which is faster than hashing.
    private static let compared = 12

    /// Signals beyond ``furtherLimit`` are ignored. `further` may contain duplicates.
    package init(further: [Signal] = []) {
        var names: [Signal] = []
        var positions: [Signal: Int] = [:]
        for signal in Signal.wellKnown + further where positions.count < 64 && positions[signal] == nil {
            positions[signal] = positions.count
            names.append(signal)
        }
        self.names = names
        self.positions = positions
    }

    /// The set of one signal; empty if it has no bit.
    package subscript(signal: Signal) -> SignalSet {
        for position in 0..<min(names.count, Self.compared) where names[position] == signal {
            return SignalSet(position: position)
        }
        return positions[signal].map(SignalSet.init(position:)) ?? []
    }

    package func set(of signals: some Sequence<Signal>) -> SignalSet {
        signals.reduce(into: []) { $0.formUnion(self[$1]) }
    }
}

/// The set of signals that a device wants, one bit each.
package struct SignalSet: OptionSet, Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// The set with the bit of that position in ``SignalNames``, from 0 to 63.
    package init(position: Int) {
        self.init(rawValue: 1 &<< UInt64(position))
    }

    /// The bits that every ``SignalNames`` gives to ``Signal/wellKnown``, which are the ones on disk.
    static let wellKnown = SignalSet(rawValue: (1 &<< UInt64(Signal.wellKnown.count)) - 1)
}

/// Numbers for the languages of the operator's rules.
///
/// Registrations may name any language, so they get no numbers: a few registrations could use up all of them.
package struct LanguageNames: Hashable, Sendable {
    /// The maximum number of languages. Others count as none.
    package static let limit = 255

    private let languages: [LanguageTag]
    private let ids: [LanguageTag: LanguageID]

    /// Languages beyond ``limit`` are ignored. `languages` may contain duplicates.
    package init(_ languages: [LanguageTag] = []) {
        var ids: [LanguageTag: LanguageID] = [:]
        var told: [LanguageTag] = []
        for language in languages where told.count < Self.limit && ids[language] == nil {
            told.append(language)
            ids[language] = LanguageID(rawValue: UInt8(told.count))
        }
        self.languages = told
        self.ids = ids
    }

    package var isEmpty: Bool { languages.isEmpty }

    /// The language of that number; nil for ``LanguageID/none``.
    package subscript(id: LanguageID) -> LanguageTag? {
        languages.indices.contains(Int(id.rawValue) - 1) ? languages[Int(id.rawValue) - 1] : nil
    }

    /// The language for readers of `locale`: the nearest one, or none.
    package func best(for locale: LanguageTag?) -> LanguageID {
        locale?.nearest(among: ids.keys).flatMap { ids[$0] } ?? .none
    }
}

/// The number of a language of the rules, valid within one ``LanguageNames``.
package struct LanguageID: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// None of them: the rules' default texts.
    package static let none = LanguageID(rawValue: 0)
}
