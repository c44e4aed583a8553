extension JSONObject {
    /// The signals in the list under `key`, each once; none when the key is absent or empty (null). A name that no signal can have
    /// is refused.
    public func signals(_ key: StaticString) throws(PluginError) -> Set<String> {
        let names = try texts(key, expected: "signals such as dm")
        guard names.allSatisfy(SignalName.isPossible) else {
            throw PluginError("\(key): expected signals such as dm, \(SignalName.form), found another text")
        }
        return Set(names)
    }
}
