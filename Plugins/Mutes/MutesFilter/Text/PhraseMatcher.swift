/// Looks for many phrases in a text at once, as Aho and Corasick do: each node of their tree knows where else its way's end fits, so
/// that no text and no list makes it go back.
struct PhraseMatcher: Sendable {
    private let tree: PhraseTree
    /// Of each node: that of the longest beginning of a phrase with which the way to it ends.
    private let fallbacks: [Int]
    /// Of each node: the next on its way of fallbacks at which a phrase ends; the root where there is none.
    private let shorter: [Int]
    /// Whether any phrase counts inside of words too.
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

    /// About how many bytes it takes.
    var weight: Int { fallbacks.count * 64 + tree.numbers.count * 64 }

    /// What phrase is found first in `text`; nil: none is.
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
