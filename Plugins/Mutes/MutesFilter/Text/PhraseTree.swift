/// The beginnings of all phrases as a tree, one node for each.
struct PhraseTree: Sendable {
    private struct Edge: Sendable {
        let number: UInt32
        let target: Int
    }

    static let root = 0

    /// A number for each character that any phrase has, from 1 on.
    private(set) var numbers: [Character: UInt32] = [:]
    /// What phrases end at each node.
    private(set) var ends: [PhraseEnds] = [[]]
    /// How many characters lead to each node.
    private(set) var depths: [Int] = [0]
    /// Those of a node lie together, by their numbers.
    private var edges: [Edge] = []
    /// Where the edges of each node begin, and at last how many there are.
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

    /// Where a character leads from a node; nil: no phrase goes on like that.
    func child(of node: Int, _ number: UInt32) -> Int? {
        var (low, high) = (starts[node], starts[node + 1])
        while low < high {
            let middle = (low + high) / 2
            if edges[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low < starts[node + 1] && edges[low].number == number ? edges[low].target : nil
    }

    /// All nodes but the root, parents before their children, with what leads to them.
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
