/// A rule's blocks for single platforms (`apns`, `fcm`, `webpush`, …, `native`), by which an operator says to one push service what the
/// others do not know.
struct PlatformBlocks: Sendable {
    /// What is the same for every notification, by platform name.
    private let constant: [String: String]
    private let templates: [(platform: String, template: JSONTemplate)]

    init(_ blocks: [(platform: String, template: JSONTemplate)]) {
        var constant: [String: String] = [:]
        var templates: [(platform: String, template: JSONTemplate)] = []
        for block in blocks {
            if case .constant(let json) = block.template {
                constant[block.platform] = String(decoding: json, as: UTF8.self)
            } else {
                templates.append(block)
            }
        }
        self.constant = constant
        self.templates = templates
    }

    /// The variables that its templates may put in or ask for, by their whole names.
    var variables: Set<String> {
        templates.reduce(into: []) { $0.formUnion($1.template.variables) }
    }

    /// JSON objects by platform name (`ios`, `android`, `web`, …): what a transport gets as `native`.
    ///
    /// `now` is in milliseconds since 1970; relative dates count from there.
    func render(_ values: TemplateValues, now: Int64) -> [String: String] {
        var blocks = constant
        for (platform, template) in templates {
            blocks[platform] = template.render(values, now: now)
        }
        return blocks
    }
}
