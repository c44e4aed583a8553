/// Finds many phrases in a text in one pass (Aho-Corasick): each node of the tree knows where the search continues
/// after a mismatch, so that no text and no list makes it go back.
struct PhraseMatcher: Sendable {
    private let tree: PhraseTree
    /// For each node: the node of the longest phrase prefix that is a suffix of its path.
    private let fallbacks: [Int]
    /// For each node: the next node among its fallbacks at which a phrase ends, or the root.
    private let shorter: [Int]
    /// Whether any phrase matches inside words.
    private let hasUnbounded: Bool

    /// Empty phrases are left out.
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

    /// Its size in memory, roughly, in bytes.
    var weight: Int { fallbacks.count * 64 + tree.numbers.count * 64 }

    /// The kind of the first phrase found in `text`; nil if there is none.
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
            let isFreeBehind = text.isFree(behind: place + 1)
            guard isFreeBehind || hasUnbounded else { continue }
            var end = tree.ends[node].isEmpty ? shorter[node] : node
            while end != PhraseTree.root {
                let ends = tree.ends[end]
                if ends.contains(.anywhere) { return .anywhere }
                if isFreeBehind, text.isFree(before: place + 1 - tree.depths[end]) { return ends }
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

    /// A number from 1 on for each character in any phrase.
    private(set) var numbers: [Character: UInt32] = [:]
    /// The phrases that end at each node.
    private(set) var ends: [PhraseEnds] = [[]]
    /// The depth of each node.
    private(set) var depths: [Int] = [0]
    /// Grouped by node, sorted by number.
    private var edges: [Edge] = []
    /// Where the edges of each node begin; the last element is the number of edges.
    private var starts: [Int] = []

    /// Empty phrases are left out.
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

    /// The child of a node for a character; nil if no phrase continues this way.
    func child(of node: Int, _ number: UInt32) -> Int? {
        var (low, high) = (starts[node], starts[node + 1])
        while low < high {
            let middle = (low + high) / 2
            if edges[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low < starts[node + 1] && edges[low].number == number ? edges[low].target : nil
    }

    /// All nodes but the root, parents before their children, with the edges to them.
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
