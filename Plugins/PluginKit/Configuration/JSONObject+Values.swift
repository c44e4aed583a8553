extension JSONObject {
    /// True or false under `key`; nil when the key is absent or empty (null).
    public func flag(_ key: StaticString) throws(PluginError) -> Bool? {
        guard let value = self[key], !value.isNull else { return nil }
        guard let flag = value.bool else {
            throw PluginError("\(key): expected true or false, found \(value.kind)")
        }
        return flag
    }

    /// The whole number under `key`; nil when the key is absent or empty (null).
    public func integer(_ key: StaticString, in range: ClosedRange<Int64>) throws(PluginError) -> Int64? {
        guard let value = self[key], !value.isNull else { return nil }
        guard let number = value.integer, range.contains(number) else {
            throw PluginError(
                "\(key): expected a whole number from \(range.lowerBound) to \(range.upperBound), found "
                    + (value.integer.map { "\($0)" } ?? value.kind)
            )
        }
        return number
    }

    /// One of `choices` under `key`; nil when the key is absent or empty (null).
    public func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ key: StaticString,
        _ choices: Choice.Type
    ) throws(PluginError) -> Choice? {
        let expected = Choice.allCases.map(\.rawValue).joined(separator: " or ")
        guard let text = try text(key, expected: expected) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            throw PluginError("\(key): expected \(expected), found another text")
        }
        return choice
    }

    /// The texts in the list under `key`; none when the key is absent or empty (null). `expected` says what each is.
    public func texts(_ key: StaticString, expected: String) throws(PluginError) -> [String] {
        guard let value = self[key], !value.isNull else { return [] }
        guard let elements = value.elements else {
            throw PluginError("\(key): expected a list of \(expected), found \(value.kind)")
        }
        var texts: [String] = []
        for element in elements {
            guard let text = element.string, !text.isEmpty else {
                throw PluginError("\(key): expected \(expected) in the list, found \(element.kind)")
            }
            texts.append(text)
        }
        return texts
    }

    /// The mapping under `key`; nil when the key is absent or empty (null).
    public func mapping(_ key: StaticString, expected: String) throws(PluginError) -> JSONObject? {
        guard let value = self[key], !value.isNull else { return nil }
        guard let object = value.object else {
            throw PluginError("\(key): expected \(expected), found \(value.kind)")
        }
        return object
    }
}
