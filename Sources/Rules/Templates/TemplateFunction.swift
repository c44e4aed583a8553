import Storage

/// A function of a variable, as in `{{excerpt(event.content)}}`.
enum TemplateFunction: Hashable, Sendable {
    /// The first characters, with `...` if there are more. Default: 100.
    case excerpt(Int)
    /// The first characters without a mark.
    case truncate(Int)
    /// A key as npub (NIP-19).
    case npub
    /// An event's id as note (NIP-19).
    case note
    /// An event's id with hints that help to find the event (NIP-19).
    case nevent
    /// A key in the form that can contain relays (NIP-19).
    case nprofile
    /// The address of an addressable or replaceable event.
    case naddr
    /// How long ago a time is, in words of the text's language.
    case ago
    /// How long ago a time is, in a short form for all languages: `5m`, `3h`, `2d`.
    case since
    case upper
    case lower
    /// Millisatoshis in satoshis.
    case sats
    /// A number rounded to a whole one, half away from 0.
    case round
    /// A number in the text's language, with that many decimals, or as many as there are if nil.
    case number(Int?)
    /// Up to that many elements of a list, for a section.
    case each(Int)
    /// The number of elements in a list.
    case count

    private static let widths = 1...500
    private static let fractions = 0...6
    private static let lengths = 1...50
    private static let counting: [(name: String, range: ClosedRange<Int>, make: @Sendable (Int) -> TemplateFunction)] =
        [
            ("excerpt", widths, TemplateFunction.excerpt), ("truncate", widths, TemplateFunction.truncate),
            ("number", fractions, { .number($0) }), ("each", lengths, TemplateFunction.each),
        ]
    private static let plain: [(name: String, function: TemplateFunction)] = [
        ("excerpt", .excerpt(100)), ("npub", .npub), ("note", .note), ("nevent", .nevent),
        ("nprofile", .nprofile), ("naddr", .naddr), ("ago", .ago), ("since", .since), ("upper", .upper),
        ("lower", .lower), ("sats", .sats), ("round", .round), ("number", .number(nil)),
        ("each", .each(TemplateList.usualCount)), ("count", .count),
    ]

    /// Returns the function of that name; nil if there is none.
    init?(_ name: some StringProtocol) {
        if let (_, function) = Self.plain.first(where: { $0.name == name }) {
            self = function
            return
        }
        for (word, range, make) in Self.counting where name.hasPrefix(word) {
            let digits = name.dropFirst(word.count)
            guard digits == "0" || digits.first != "0", digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let count = Int(digits), range.contains(count)
            else { return nil }
            self = make(count)
            return
        }
        return nil
    }

    func accepts(_ content: TemplateVariable.Content) -> Bool {
        switch (self, content) {
        case (.each, _), (.count, _): content == .list
        case (_, .list): false
        case (_, .any), (.npub, .publicKey), (.nprofile, .publicKey), (.note, .eventID), (.nevent, .eventID),
            (.naddr, .address), (.ago, .moment), (.since, .moment), (.sats, .number), (.round, .number),
            (.number, .number):
            true
        case (.npub, _), (.nprofile, _), (.note, _), (.nevent, _), (.naddr, _), (.ago, _), (.since, _), (.sats, _),
            (.round, _), (.number, _):
            false
        case (.excerpt, _), (.truncate, _), (.upper, _), (.lower, _): true
        }
    }

    /// Its result type, which decides the functions that can be applied to it.
    var result: TemplateVariable.Content {
        switch self {
        case .sats, .round, .count: .number
        case .each: .list
        default: .text
        }
    }

    static let expectation =
        "expected npub of a pubkey or nprofile of one, note or nevent of an id, naddr of an address, ago or since of a time, "
        + "with nothing between them; sats, round or number of a number; each or count of a list, such as event.tags.t"

    static func unknown(_ name: some StringProtocol) -> TemplateError {
        let hint = NearestName.hint(String(name.prefix(40)), among: plain.map(\.name) + counting.map(\.name))
        guard hint.isEmpty else { return TemplateError("there is no function '\(name.prefix(40))'" + hint) }
        let all =
            plain.map { "\($0.name)(…)" }
            + counting.map { "\($0.name)N(…) with N from \($0.range.lowerBound) to \($0.range.upperBound)" }
        return TemplateError("there is no function '\(name.prefix(40))'; there are \(all.joined(separator: ", "))")
    }
}

/// The start of a text, as default texts quote it.
enum Excerpt {
    /// Enough for characters of eight code points.
    private static let bytesPerCharacter = 32

    /// Returns the first `count` characters, at most 32 bytes for each, with `...` if there are more. Never cuts inside
    /// a character.
    static func of(_ text: String, characters count: Int = 100) -> String {
        let beginning = beginning(of: text, characters: count)
        return beginning.endIndex < text.endIndex ? beginning + "..." : text
    }

    /// Returns the same without the dots.
    static func beginning(of text: String, characters count: Int) -> Substring {
        text.beginning(count, bytes: count * bytesPerCharacter)
    }
}

extension String {
    /// Returns the first `count` whole characters that fit into `bytes`. The limit is needed because one Unicode
    /// character with many accents can be as long as an event.
    package func beginning(_ count: Int, bytes: Int) -> Substring {
        // A character has at least one byte, so most texts need no counting.
        guard utf8.count > min(count, bytes) else { return self[...] }
        var room = bytes
        var end = startIndex
        for position in indices.prefix(count) {
            room -= self[position].utf8.count
            guard room >= 0 else { break }
            end = index(after: position)
        }
        return self[..<end]
    }
}
