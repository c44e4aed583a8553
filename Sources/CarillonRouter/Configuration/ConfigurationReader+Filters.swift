import Pipeline
import YAMLReading

/// Reads the block on filters.
extension ConfigurationReader {
    /// As many as the pipeline tells apart.
    private static let filterLimit = 64

    /// In the order of the file.
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
            filter.settings = PathsInBlock.resolve(json, path)
        }
        return filter
    }
}
