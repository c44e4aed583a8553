import YAMLReading

/// What a rule says in a platform's own words.
extension RuleReader {
    /// The keys of a rule that are read here.
    static let nativeKeys = ["apns", "native"]

    /// JSON objects by platform name.
    func native(_ rule: YAMLMapping) -> [String: String] {
        var native: [String: String] = [:]
        for (platform, block) in rule["native"]?.mapping()?.members ?? [] where block.mapping() != nil {
            native[platform] = block.json()
        }
        if let apns = rule["apns"], apns.mapping() != nil {
            if native["ios"] != nil { apns.mistake("this is native.ios under its own name; give one of them") }
            native["ios"] = apns.json()
        }
        return native
    }
}
