import Pipeline
import Push
import Storage

/// Reads the block `filters`.
extension ConfigurationReader {
    /// The maximum number of filters that the pipeline supports.
    private static let filterLimit = 64
    /// The settings of Carillon's own filters that name signals, in a list or as the keys of a mapping.
    private static let signalSettings = ["noise": ["except", "difficulty"], "web-of-trust": ["except"]]

    /// Returns the filters in the order of the file.
    func filters(_ value: YAMLValue) -> [Configuration.Filter] {
        let members = value.mapping()?.members ?? []
        if members.count > Self.filterLimit { value.mistake("expected at most \(Self.filterLimit) filters") }
        return members.map { name, block in filter(name, block) }
    }

    private func filter(_ name: String, _ block: YAMLValue) -> Configuration.Filter {
        var filter = Configuration.Filter(name: name, line: block.line)
        guard let mapping = block.mapping(keys: ["devices", "on_error", "settings"]) else { return filter }
        filter.availability =
            mapping["devices"]?.choice(FilterAvailability.allCases.map(\.rawValue)).flatMap(FilterAvailability.init)
            ?? filter.availability
        filter.onError =
            mapping["on_error"]?.choice(EventFilter.OnError.allCases.map(\.rawValue))
            .flatMap(EventFilter.OnError.init) ?? filter.onError
        if let settings = mapping["settings"], settings.mapping() != nil, let json = settings.json() {
            filter.settings = BlockFiles().resolving(json, path)
            filter.signals = Self.signals(in: settings, of: name)
        }
        return filter
    }

    /// Returns the signals; malformed settings are left to the plugin's own check.
    private static func signals(in settings: YAMLValue, of name: String) -> [Configuration.NamedSignal] {
        let members = settings.mapping()?.members ?? []
        return members.filter { signalSettings[name]?.contains($0.key) == true }.flatMap { _, value in
            let keys = value.isMapping ? value.mapping()?.members ?? [] : []
            let elements = value.isList ? value.list() ?? [] : []
            let named =
                keys.map { (name: $0.key, value: $0.value) }
                + elements.compactMap { element in element.writtenText.map { (name: $0, value: element) } }
            return named.map { name, value in
                Configuration.NamedSignal(
                    name: name,
                    path: value.path,
                    line: value.place.line,
                    column: value.place.column
                )
            }
        }
    }
}
