/// The members of a YAML mapping, in their order in the file.
package struct YAMLMapping {
    /// The mapping itself.
    package let value: YAMLValue
    package let members: [(key: String, value: YAMLValue)]

    init(value: YAMLValue, members: [(String, YAMLValue)]) {
        self.value = value
        self.members = members
    }

    package subscript(key: String) -> YAMLValue? {
        members.first { $0.key == key }?.value
    }

    /// The member of that name; a mistake that says what it is for when it is missing.
    package func require(_ key: String, _ purpose: String) -> YAMLValue? {
        if let value = self[key] { return value }
        value.mistake("'\(key)' is missing: \(purpose)")
        return nil
    }
}
