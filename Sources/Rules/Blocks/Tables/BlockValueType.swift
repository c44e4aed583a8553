/// What a key of a platform's block takes.
indirect enum BlockValueType: Sendable {
    static let anyNumber = -Double.greatestFiniteMagnitude...Double.greatestFiniteMagnitude

    /// A template whose text is of that form.
    case text(TextForm)
    case textOrNull
    case flag(FlagForm)
    case whole(ClosedRange<Int>)
    /// One of these, never a template.
    case oneOf([Int])
    case number(ClosedRange<Double>)
    /// One of these words, or a template that gives one; what gives none is left out.
    case choice([String])
    /// One of these words, never a template: other keys depend on it.
    case fixedChoice([String])
    case moment(MomentForm)
    case span(SpanForm)
    /// From so many to so many values.
    case list(of: BlockValueType, ClosedRange<Int>)
    case object(BlockTable)
    /// An object under whose keys, which may be any, such a value stands.
    case dictionary(of: BlockValueType)
    case freeObject
    /// The same, but the app decodes it as a whole and refuses it if a member is missing.
    case completeObject
    /// Two types that are told apart by their form: the first is no object, the second is one.
    case either(BlockValueType, orObject: BlockTable)
}
