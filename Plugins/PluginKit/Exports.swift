// Small modules of the router that are part of the kit.
@_exported public import Core
