import PluginKit

/// Finds many phrases in a text in one pass (Aho-Corasick). Each node of the trie stores where the search continues
/// after a mismatch, so the search never goes back.
struct PhraseMatcher: Sendable {
    private let tree: PhraseTree
    /// For each node: the node of the longest phrase prefix that is a suffix of its path.
    private let fallbacks: [Int]
    /// For each node: the next node among its fallbacks at which a phrase ends, or the root.
    private let shorter: [Int]
    /// Whether any phrase matches inside words.
    private let hasUnbounded: Bool

    /// Empty phrases are skipped.
    init(_ phrases: [Phrase]) {
        let tree = PhraseTree(phrases)
        var fallbacks = [Int](repeating: PhraseTree.root, count: tree.ends.count)
        var shorter = fallbacks
        for (parent, number, node) in tree.descendants where parent != PhraseTree.root {
            let fallback = Self.step(from: fallbacks[parent], number, tree, fallbacks)
            fallbacks[node] = fallback
            shorter[node] = tree.ends[fallback].isEmpty ? shorter[fallback] : fallback
        }
        self.tree = tree
        self.fallbacks = fallbacks
        self.shorter = shorter
        hasUnbounded = tree.ends.contains { $0.contains(.anywhere) }
    }

    var isEmpty: Bool { tree.numbers.isEmpty }

    /// Its approximate size in memory, in bytes.
    var weight: Int { fallbacks.count * 64 + tree.numbers.count * 64 }

    /// Returns the kind of the first phrase found in `text`, or nil.
    func firstMatch(in text: ReadableText) -> PhraseEnds? {
        guard !isEmpty else { return nil }
        let numbers = text.alphabet.map { tree.numbers[$0] }
        var node = PhraseTree.root
        for (place, letter) in text.letters.enumerated() {
            guard let number = numbers[Int(letter)] else {
                node = PhraseTree.root
                continue
            }
            node = Self.step(from: node, number, tree, fallbacks)
            let isFreeAfter = text.isFree(after: place + 1)
            guard isFreeAfter || hasUnbounded else { continue }
            var end = tree.ends[node].isEmpty ? shorter[node] : node
            while end != PhraseTree.root {
                let ends = tree.ends[end]
                if ends.contains(.anywhere) { return .anywhere }
                if isFreeAfter, text.isFree(before: place + 1 - tree.depths[end]) { return ends }
                end = shorter[end]
            }
        }
        return nil
    }

    private static func step(from start: Int, _ number: UInt32, _ tree: PhraseTree, _ fallbacks: [Int]) -> Int {
        var node = start
        while true {
            if let child = tree.child(of: node, number) { return child }
            guard node != PhraseTree.root else { return node }
            node = fallbacks[node]
        }
    }
}

/// A trie of all phrases.
struct PhraseTree: Sendable {
    private struct Edge: Sendable {
        let number: UInt32
        let target: Int
    }

    static let root = 0

    /// A number, from 1, for each character in any phrase.
    private(set) var numbers: [Character: UInt32] = [:]
    /// The phrases that end at each node.
    private(set) var ends: [PhraseEnds] = [[]]
    /// The depth of each node.
    private(set) var depths: [Int] = [0]
    /// The edges, grouped by node and sorted by number.
    private var edges: [Edge] = []
    /// The index of each node's first edge; the last element is the number of edges.
    private var starts: [Int] = []

    /// Empty phrases are skipped.
    init(_ phrases: [Phrase]) {
        var children: [[UInt32: Int]] = [[:]]
        for phrase in phrases where !phrase.characters.isEmpty {
            var node = Self.root
            for character in phrase.characters {
                let number = number(character)
                if let child = children[node][number] {
                    node = child
                    continue
                }
                children[node][number] = children.count
                depths.append(depths[node] + 1)
                ends.append([])
                node = children.count
                children.append([:])
            }
            ends[node].insert(phrase.kind)
        }
        for node in children {
            starts.append(edges.count)
            edges += node.map { Edge(number: $0.key, target: $0.value) }.sorted { $0.number < $1.number }
        }
        starts.append(edges.count)
    }

    /// Returns the child of a node for a character; nil if no phrase continues this way.
    func child(of node: Int, _ number: UInt32) -> Int? {
        var (low, high) = (starts[node], starts[node + 1])
        while low < high {
            let middle = (low + high) / 2
            if edges[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low < starts[node + 1] && edges[low].number == number ? edges[low].target : nil
    }

    /// All nodes except the root, parents before their children, with the edges to them.
    var descendants: [(parent: Int, number: UInt32, node: Int)] {
        var rows: [(parent: Int, number: UInt32, node: Int)] = []
        rows.reserveCapacity(edges.count)
        var next = [Self.root]
        while !next.isEmpty {
            let level = next
            next = []
            for parent in level {
                for edge in edges[starts[parent]..<starts[parent + 1]] {
                    rows.append((parent, edge.number, edge.target))
                    next.append(edge.target)
                }
            }
        }
        return rows
    }

    private mutating func number(_ character: Character) -> UInt32 {
        if let number = numbers[character] { return number }
        let number = UInt32(numbers.count + 1)
        numbers[character] = number
        return number
    }
}

/// A sequence of folded characters to find, and its kind.
struct Phrase: Sendable {
    let characters: [Character]
    let kind: PhraseEnds

    init(_ characters: [Character], _ kind: PhraseEnds) {
        self.characters = characters
        self.kind = kind
    }
}

/// The kinds of the phrases that end at a node of a ``PhraseTree``.
struct PhraseEnds: OptionSet, Sendable {
    let rawValue: UInt8

    /// A word that matches anywhere.
    static let anywhere = PhraseEnds(rawValue: 1)
    /// A word that matches only if no letter or digit is next to it.
    static let word = PhraseEnds(rawValue: 2)
    /// A hashtag, with its sign, which matches like a whole word.
    static let hashtag = PhraseEnds(rawValue: 4)
}

/// A text prepared once for the phrases of many lists: folded, each character as an index into the text's own alphabet.
struct ReadableText: Sendable {
    private(set) var alphabet: [Character] = []
    private(set) var letters: [UInt32] = []
    /// For each character of the alphabet: whether it is part of a word.
    private let isPartOfWord: [Bool]

    init(_ text: String) {
        let characters = FoldedText(text).characters
        var places: [Character: UInt32] = [:]
        letters.reserveCapacity(characters.count)
        for character in characters {
            if let place = places[character] {
                letters.append(place)
                continue
            }
            let place = UInt32(alphabet.count)
            places[character] = place
            alphabet.append(character)
            letters.append(place)
        }
        isPartOfWord = alphabet.map { $0.isLetter || $0.isNumber || $0 == "_" }
    }

    /// Whether a word may start at an index.
    func isFree(before place: Int) -> Bool { place == 0 || !isPartOfWord[Int(letters[place - 1])] }

    /// Whether a word may end before an index.
    func isFree(after place: Int) -> Bool { place == letters.count || !isPartOfWord[Int(letters[place])] }
}

/// A text folded for comparison: without case and invisible characters, and with one space for each run of white space.
/// Characters are compared by canonical equivalence.
struct FoldedText {
    let characters: [Character]

    init(_ text: String) {
        var folded: [Character] = []
        folded.reserveCapacity(text.utf8.count)
        for character in Self.fold(text) {
            guard character.isWhitespace else {
                folded.append(character)
                continue
            }
            if folded.last != " " { folded.append(" ") }
        }
        characters = folded
    }

    /// The text without spaces at its ends.
    var trimmed: [Character] {
        let start = characters.drop { $0 == " " }
        return Array(start.last == " " ? start.dropLast() : start)
    }

    private static let joiner: Unicode.Scalar = "\u{200d}"

    /// Folds case, because the standard library has no full case folding. Characters with the same upper case fold to
    /// the same character: `ß` and `SS`, all sigmas, and `ſ` and `s` are equal.
    private static func fold(_ text: String) -> String {
        var folded = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if scalar.isASCII {
                folded.append(Unicode.Scalar(UInt8(scalar.value).lowercasedASCII))
                continue
            }
            // Joined emoji, such as a family, stay one character.
            let isJoint = scalar == Self.joiner && folded.last?.properties.isEmoji == true
            guard isJoint || !scalar.properties.isDefaultIgnorableCodePoint else { continue }
            for upper in scalar.properties.uppercaseMapping.unicodeScalars {
                folded.append(contentsOf: upper.properties.lowercaseMapping.unicodeScalars)
            }
        }
        return String(folded)
    }
}

/// The parts of an event that people read: its text and its hashtags, prepared once for many lists.
struct Wording: Sendable {
    private static let giftWraps: Set<Int64> = [1059, 21_059]
    /// Kinds whose content is encrypted or not a text.
    private static let withoutText: Set<Int64> = giftWraps.union([3, 4, 13])
    private static let reposts: Set<Int64> = [6, 16, 1809]
    private static let zapReceipt: Int64 = 9735

    let text: ReadableText
    /// The folded hashtags, without the sign.
    let hashtags: [String]

    init(of event: NostrEvent) {
        let (text, hashtags) = Self.words(of: event)
        self.text = ReadableText(text)
        self.hashtags = hashtags.map { String(MuteList.hashtag($0)) }
    }

    private static func words(of event: NostrEvent) -> (text: String, hashtags: [String]) {
        let own = event.values(of: "t")
        switch event.kind {
        case let kind where withoutText.contains(kind):
            return ("", own)
        case let kind where reposts.contains(kind):
            // NIP-18: the reposted event as JSON, or empty.
            let reposted = try? NostrEvent(parsing: event.content)
            return (reposted?.content ?? "", own + (reposted?.values(of: "t") ?? []))
        case zapReceipt:
            // NIP-57: the comment is in the request.
            let request = event.values(of: "description").first.flatMap { try? NostrEvent(parsing: $0) }
            return (request?.content ?? "", own)
        default:
            return (event.content, own)
        }
    }
}
