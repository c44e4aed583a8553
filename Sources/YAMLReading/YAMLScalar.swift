import Yams

/// A scalar as YAML takes it: what is written plainly may be a number, a flag or nothing; what stands in quotes is text.
package enum YAMLScalar: Hashable, Sendable {
    case null
    case whole(Int)
    /// Always finite.
    case number(Double)
    case flag(Bool)
    case text(String)
}

extension YAMLValue {
    /// This value if it is a scalar; nil for lists and mappings, and, with a mistake noted, for an environment variable that
    /// is not set.
    package func scalar() -> YAMLScalar? {
        guard case .scalar(let scalar) = node else { return nil }
        if scalar.style == .plain {
            if node.null != nil { return .null }
            if let number = Int(scalar.string) { return .whole(number) }
            if let flag = node.bool { return .flag(flag) }
            if let number = Double(scalar.string), number.isFinite { return .number(number) }
        }
        return string().map(YAMLScalar.text)
    }

    /// Whether the file says by one of YAML's own tags, `!!int` or `!!float`, that this text stands for a number.
    package var isTaggedAsNumber: Bool {
        guard case .scalar(let scalar) = node, scalar.style != .plain || scalar.string.hasPrefix("{{") else {
            return false
        }
        return node.tag == Tag(.int) || node.tag == Tag(.float)
    }

    /// Whether it is a whole number to YAML, by the tag `!!int` or by how it is written.
    package var isTaggedAsWhole: Bool { node.tag == Tag(.int) }

    /// Whether this is a list.
    package var isList: Bool { node.sequence != nil }
}
