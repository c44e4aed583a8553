/// How a push service wants yes and no.
enum FlagForm: Sendable {
    /// `true` and `false`.
    case bool
    /// `1` and `0`, as Apple has them.
    case oneOrZero
    /// `"yes"` and `"no"`, as ntfy has them.
    case yesOrNo

    func append(_ flag: Bool, to json: inout RenderedJSON) {
        switch self {
        case .bool: json.append(flag)
        case .oneOrZero: json.append(Int64(flag ? 1 : 0))
        case .yesOrNo: json.append(quoted: flag ? "yes" : "no")
        }
    }

    var expectation: String {
        switch self {
        case .bool: "expected true or false"
        case .oneOrZero: "expected 1, 0, true or false"
        case .yesOrNo: "expected yes or no"
        }
    }
}
