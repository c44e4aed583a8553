/// A rule's blocks for single platforms (`apns`, `fcm`, `webpush`, …, `native`), by which an operator says to one push service what the
/// others do not know.
struct PlatformBlocks: Sendable {
    /// One platform's block as it was read.
    struct Block: Sendable {
        /// The rule's key for it, such as `apns` or `native.matrix`.
        let key: String
        let platform: String
        var template: JSONTemplate
    }

    /// What is the same for every notification, by platform name.
    private let constant: [String: String]
    private let templates: [Block]

    init(_ blocks: [Block]) {
        var constant: [String: String] = [:]
        var templates: [Block] = []
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

    /// Whether some event leaves the block of `platform` without what it needs.
    func mayWithhold(_ platform: String) -> Bool {
        templates.contains { $0.platform == platform && $0.template.mayBeLeftOut }
    }

    /// JSON objects by platform name (`ios`, `android`, `web`, …): what a transport gets as `native`. What is left out of
    /// them is noted in `rendering`.
    ///
    /// `now` is in milliseconds since 1970; relative dates count from there.
    func render(_ values: TemplateValues, now: Int64, into rendering: inout Rendering) -> [String: String] {
        var blocks = constant
        for block in templates {
            var omitted = OmittedPaths()
            let json = block.template.render(values, now: now, omitted: &omitted)
            blocks[block.platform] = json
            rendering.leaveOut(omitted, of: block.key, platform: block.platform, withholds: json == nil)
        }
        return blocks
    }
}
