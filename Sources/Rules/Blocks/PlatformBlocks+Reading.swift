import YAMLReading

extension PlatformBlocks {
    /// Reads the blocks of a rule; what is wrong in them is noted as mistakes.
    ///
    /// `categories` are what the file lists under that name: the categories of buttons that the app registers itself.
    init(reading rule: YAMLMapping, categories: Set<String> = []) {
        var blocks: [(platform: String, template: JSONTemplate)] = []
        for key in PlatformKey.all {
            guard let value = rule[key.name], let block = key.block(value) else { continue }
            blocks.append((key.platform, block))
        }
        for (platform, value) in rule["native"]?.mapping()?.members ?? [] where value.mapping() != nil {
            if let key = PlatformKey.all.first(where: { $0.platform == platform && rule[$0.name] != nil }) {
                value.mistake("this is '\(key.name)' under another name; give one of them")
            } else if let block = JSONTemplate(free: value) {
                blocks.append((platform, block))
            }
        }
        self.init(blocks)
    }
}
