import Rules

/// The JSON Schemas of the files that operators write, as they stand in `contrib/schema`.
package enum Schemas {
    /// Of rules files.
    package static var rules: String { RuleSchema.text }
    /// Of the configuration file.
    package static var configuration: String { ConfigurationSchema.schema.prettyPrinted }
}
