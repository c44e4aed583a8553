import Yams

/// How large and how deep a document may become once its aliases are written out. A few lines of aliases to aliases stand for
/// billions of values, which would keep whoever reads them busy for hours.
enum AliasBudget {
    static let values = 1_000_000
    static let depth = 64

    /// Whether `node` has at most ``values`` values, none deeper than ``depth``.
    static func covers(_ node: Node) -> Bool {
        var left = values
        return spend(&left, on: node, depth: 0)
    }

    private static func spend(_ left: inout Int, on node: Node, depth: Int) -> Bool {
        left -= 1
        guard left >= 0, depth <= Self.depth else { return false }
        switch node {
        case .scalar, .alias:
            return true
        case .sequence(let sequence):
            return sequence.allSatisfy { spend(&left, on: $0, depth: depth + 1) }
        case .mapping(let mapping):
            return mapping.allSatisfy {
                spend(&left, on: $0.key, depth: depth + 1) && spend(&left, on: $0.value, depth: depth + 1)
            }
        }
    }
}
