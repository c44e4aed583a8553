import YAMLReading

extension JSONTemplate {
    /// A number, with or without a fraction.
    init?(number value: YAMLValue, _ range: ClosedRange<Double>) {
        switch value.scalar() {
        case .whole(let number) where range.contains(Double(number)): self = .literal(number)
        case .number(let number) where range.contains(number): self = .constant { $0.append(number) }
        case .text(let text) where text.contains("{{"):
            guard let template = Template(numeric: text, value) else { return nil }
            self = .number(template, in: range)
        default:
            let isAny = range == BlockValueType.anyNumber
            let bounds = isAny ? "" : " from \(Self.text(range.lowerBound)) to \(Self.text(range.upperBound))"
            value.mistake("expected a number" + bounds)
            return nil
        }
    }

    /// A moment that is the same for every notification is written once and for all.
    init?(moment value: YAMLValue, _ form: MomentForm) {
        switch value.scalar() {
        case .whole(let seconds):
            guard let seconds = Int64(exactly: seconds), (0...MomentForm.range.upperBound / 1000).contains(seconds)
            else {
                value.mistake("expected seconds since 1970, not after the year 9999")
                return nil
            }
            self = .constant { form.append(seconds * 1000, to: &$0) }
        case .text(let text):
            guard let moment = MomentTemplate(text, form: form) else { fallthrough }
            self = .moment(moment)
        default:
            value.mistake(MomentTemplate.expectation)
            return nil
        }
    }

    /// A length of time: `4h`, or a whole number of seconds.
    init?(span value: YAMLValue, _ form: SpanForm) {
        let milliseconds: Int64? =
            switch value.scalar() {
            case .whole(let seconds) where (0...Int(Int32.max)).contains(seconds): Int64(seconds) * 1000
            case .text(let text): SpanForm.milliseconds(text)
            default: nil
            }
        guard let milliseconds else {
            value.mistake(SpanForm.expectation)
            return nil
        }
        if let mistake = form.mistake(in: milliseconds) {
            value.mistake(mistake)
            return nil
        }
        self = .constant { form.append(milliseconds, to: &$0) }
    }

    private static func text(_ number: Double) -> String {
        Int(exactly: number).map(String.init) ?? String(number)
    }
}
